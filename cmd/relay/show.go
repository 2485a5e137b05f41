package relay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"c2c/broker"
	"c2c/cmd/cli"
	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/internal/format"
	"c2c/relay"
	"c2c/relay/cache"
)

// shown is a host in the output of list.
type shown struct {
	Name        string    `json:"host"`
	Carrier     string    `json:"carrier"`
	Dest        string    `json:"ssh,omitempty"`
	Fingerprint string    `json:"fingerprint"`
	Projects    []string  `json:"projects"`
	Aliases     []string  `json:"aliases"`
	Added       time.Time `json:"added"`
	Revoked     time.Time `json:"revoked,omitzero"`
}

func shownHost(h relay.Host) shown {
	s := shown{Name: h.Name, Carrier: h.Carrier, Dest: h.Dest, Fingerprint: h.Key.Fingerprint(), Projects: append([]string{}, h.Projects...),
		Aliases: append([]string{}, h.Aliases...), Added: mail.FromSeconds(h.Added).UTC()}
	if h.Revoked != 0 {
		s.Revoked = mail.FromSeconds(h.Revoked).UTC()
	}
	return s
}

func (c *call) list() error {
	rows := []shown{}
	if c.r.Dir != nil {
		all, err := c.hosts().All()
		if err != nil {
			return err
		}
		for _, h := range all {
			rows = append(rows, shownHost(h))
		}
	}
	if *c.asJSON {
		return cli.JSON(c.Stdout, rows)
	}
	if len(rows) == 0 {
		fmt.Fprintln(c.Stdout, "(no other machine is paired with this one)")
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "HOST\tBY\tMAY WRITE TO\tKEY")
	for _, r := range rows {
		may := reaches(r.Projects, r.Aliases)
		if !r.Revoked.IsZero() {
			may = "nothing: revoked"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", r.Name, strings.TrimSpace(r.Carrier+" "+r.Dest), may, r.Fingerprint)
	}
	return w.Flush()
}

// status is the answer of c2c relay status: the state of the relay, and its link to each host.
type status struct {
	PID     int    `json:"pid,omitempty"` // 0: no relay runs
	Stopped bool   `json:"stopped,omitempty"`
	Error   string `json:"error,omitempty"` // why it has failed; it begins again
	Key     string `json:"fingerprint,omitempty"`
	Log     string `json:"log,omitempty"`
	Links   []Link `json:"links"`
}

func (c *call) status() error {
	st := status{Links: []Link{}}
	if c.r.Dir != nil {
		a, pid, err := c.r.Active()
		s, serr := c.r.Switches()
		if st.PID, st.Stopped, st.Error = pid, pid == 0 && s.Stopped(Name), a.Error; err != nil || serr != nil {
			return errors.Join(err, serr)
		}
		key, err := relay.ReadKey(c.r.Dir)
		if err == nil {
			st.Key = key.Public().Fingerprint()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		links, err := c.r.Links()
		if err != nil {
			return err
		}
		if err := c.r.addFacts(c.hosts(), links); err != nil {
			return err
		}
		st.Log, st.Links = c.r.Log(), append(st.Links, links...)
	}
	return cli.PrintStatus(c.Stdout, st, st.PID != 0, nil, *c.asJSON)
}

// addFacts adds facts from all roots to the link of each host: the newest trouble, when the host
// was last heard, and the number of messages that wait for it.
func (r *Relay) addFacts(list *relay.HostList, links []Link) error {
	roots, err := r.rootsOf(list)
	if err != nil {
		return err
	}
	for _, root := range roots {
		dir, err := atomicfile.Open(root.Path)
		if errors.Is(err, fs.ErrNotExist) { // a named project has no directory before its first mail
			continue
		}
		if err == nil {
			err = errors.Join(addFactsOf(dir, links), dir.Close())
		}
		if err != nil {
			return fmt.Errorf("read the facts about other machines in %s: %w", root.Path, err)
		}
	}
	return nil
}

func addFactsOf(root *atomicfile.Dir, links []Link) error {
	there, err := root.NameSet()
	if err != nil {
		return err
	}
	boxes, err := inbox.OpenBacklogs(root, there)
	if err != nil {
		return err
	}
	defer boxes.Close()
	for i := range links {
		l := &links[i]
		waits, err := boxes.OfOutbox(relay.Outbox(l.Peer))
		if err != nil {
			return err
		}
		l.Waiting += waits.Count
		h, err := cache.HeardFrom(root, l.Peer)
		if err != nil {
			return err
		}
		if at := mail.FromSeconds(h.TroubleAt).UTC(); h.Trouble != "" && at.After(l.TroubleAt) {
			l.Trouble, l.TroubleAt = h.Trouble, at
		}
		if at := mail.FromSeconds(h.Seen).UTC(); h.Seen > 0 && at.After(l.SeenAt) {
			l.SeenAt = at
			if l.Up && l.Dest == "" && l.Hub == "" && h.Relayed && !h.Linked { // only a root, which has asked the host, knows that it sleeps
				l.Up, l.Since = false, at
			}
		}
	}
	return nil
}

// Print writes the status for a person.
func (st status) Print(w io.Writer) {
	now := time.Now()
	switch {
	case st.PID != 0:
		fmt.Fprintf(w, "relay runs, process %d\n", st.PID)
	case st.Stopped:
		fmt.Fprintln(w, "no relay runs: it was stopped; c2c relay start starts it")
	case st.Error != "":
		fmt.Fprintf(w, "no relay runs; it has failed, and begins again: %s\n", st.Error)
	default:
		fmt.Fprintln(w, "no relay runs; the next session starts it, and so does c2c relay start")
	}
	if st.Key != "" {
		fmt.Fprintf(w, "key of this machine %s\n", st.Key)
	}
	for _, l := range st.Links {
		fmt.Fprintf(w, "%s: %s\n", l.Peer, l.says(now))
		if !l.Up && l.Error != "" {
			fmt.Fprintf(w, "  %s\n", mail.Visible(l.Error, ""))
		}
		if l.Trouble != "" {
			fmt.Fprintf(w, "  trouble, %s: %s\n", format.Clock(l.TroubleAt, now), mail.Visible(l.Trouble, ""))
		}
	}
}

// says describes the link to a host, and how much mail waits for it.
func (l Link) says(now time.Time) string {
	text, up, down := "it connects to this machine by ssh", "linked", "not linked"
	if l.Dest != "" {
		text = "ssh " + l.Dest
	} else if l.Hub != "" { // a hub knows only whether it takes mail for the host, not whether the host runs
		text, up, down = "by the hub "+l.Hub, "the hub takes mail for it", "the hub takes no mail for it"
	}
	switch ago := format.Age(now.Sub(l.Since)); {
	case l.Since.IsZero():
		text += "; never linked since the relay started"
	case l.Up:
		text += "; " + up + " for " + ago
	default:
		text += "; " + down + " for " + ago
	}
	if !l.SeenAt.IsZero() && (!l.Up || l.Hub != "" || l.Dest == "" && now.Sub(l.SeenAt) >= broker.MayBeGone) {
		text += "; last seen " + format.Age(now.Sub(l.SeenAt)) + " ago"
	} else if l.Hub != "" && l.SeenAt.IsZero() {
		text += "; not heard from yet: has it run c2c relay hub join, and allowed this machine?"
	}
	if l.Waiting > 0 {
		text += fmt.Sprintf("; messages that wait: %d", l.Waiting)
	}
	return text
}
