package permission

import (
	"bytes"
	"encoding/json"
	"math"

	"c2c/inbox/mail"
)

// recorded is what a line of the audit has in the field result if the verdict took effect.
const recorded = "recorded"

// decided reports whether the request has a verdict, and word returns it.
func (r Request) decided() bool { return r.State == StateAllowed || r.State == StateDenied }
func (r Request) word() string  { return Verdict{Allow: r.State == StateAllowed}.word() }

// auditSlack is the largest difference between the times of a verdict and of its line in the audit,
// in seconds.
const auditSlack = 5

// forged reports whether the audit lacks the verdict of a request. Then another program has written
// the request's file. If that program has forged the audit, too, the method forged cannot detect
// it.
func (d *files) forged(r Request) bool {
	if d.given == nil {
		d.given = d.verdicts()
	}
	for _, g := range d.given {
		same := g.ID == r.ID && g.Session == r.Session && g.Verdict == r.word() && g.By == auditText(r.By) && g.Via == auditText(r.Via) && g.Proof == auditText(r.Proof)
		if same && math.Abs(g.At-r.At) <= auditSlack {
			return false
		}
	}
	return true
}

// verdicts returns those verdicts in the audit that took effect.
func (d *files) verdicts() []line {
	all := []line{}
	for _, name := range []string{auditFile + ".old", auditFile} {
		data, _ := d.dir.ReadMost(name, 2*maxAudit) // an unreadable file counts as empty
		for text := range bytes.Lines(data) {
			var g line
			if bytes.Contains(text, []byte(`"`+recorded+`"`)) && json.Unmarshal(text, &g) == nil && g.Result == recorded {
				all = append(all, g)
			}
		}
	}
	return all
}

// auditText returns a text in the form that it has in the audit.
func auditText(text string) string { return cut(mail.Visible(text, ""), 2*maxName) }
