package relay

import (
	"path/filepath"

	"c2c/relay"
	"c2c/relay/ssh"
)

func init() { kinds[relay.SSH] = kind{open: openSSH} }

// openSSH opens the carrier that connects with ssh, and to which other machines connect.
func openSSH(h *Host, changed func()) (carrier, error) {
	cfg := ssh.Config{Peers: h.peers, Dials: h.dials, Program: h.SSH, Log: h.Log, Now: h.Now, Changed: changed}
	if _, err := h.Dir.Stat(sshKeyFile); err == nil {
		cfg.Identity = filepath.Join(h.Dir.Path(), sshKeyFile)
	}
	var err error
	if cfg.Listener, err = h.listen(); err != nil {
		return nil, err
	}
	return ssh.New(cfg), nil
}

// dials returns the hosts to which this host connects with ssh; none if the list is damaged.
func (h *Host) dials() (all []ssh.Dial) {
	list, err := h.list.All()
	if err != nil {
		h.Log.Error("this machine connects to no host", "err", err)
	}
	for _, host := range list {
		if host.Carrier == relay.SSH && host.Dest != "" && host.Revoked == 0 {
			all = append(all, ssh.Dial{Peer: host.Name, Dest: host.Dest})
		}
	}
	return all
}
