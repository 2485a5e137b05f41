package relay

import (
	"errors"
	"io/fs"
	"slices"

	"c2c/relay"
	"c2c/relay/nats"
)

func init() { kinds[relay.NATS] = kind{open: openHub, hub: true} }

// hubFile is a file with a nats.Access: the address of this host's hub, and the key to use it.
const hubFile = "hub.json"

// hub returns the access to the hub of this host; fs.ErrNotExist if the host has no hub.
func (r *Relay) hub() (nats.Access, error) {
	data, err := r.Dir.ReadMost(hubFile, nats.MaxAccess)
	if err != nil {
		return nats.Access{}, err
	}
	return nats.ParseAccess(data)
}

// openHub opens the carrier of the hub; nil if this host has no hub, or if the file hubFile cannot
// be read.
func openHub(h *Host, changed func()) (carrier, error) {
	a, err := h.hub()
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			h.Log.Error("the hub cannot be used", "file", hubFile, "err", err)
		}
		return nil, nil
	}
	return nats.New(nats.Config{Access: a, Log: h.Log, Now: h.Now, Changed: changed, Peers: func() (names []string) {
		all, _ := h.list.All()
		for _, host := range all {
			if host.Carrier == relay.NATS && slices.Contains(a.Hosts, host.Name) { // revoked hosts are included, because the relay tells them that they are revoked
				names = append(names, host.Name)
			}
		}
		return names
	}}), nil
}
