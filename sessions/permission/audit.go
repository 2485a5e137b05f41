package permission

import (
	"encoding/json"
	"errors"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// line is a line of the audit. It names the tool, but never contains the tool's input.
type line struct {
	At      float64 `json:"ts"`
	ID      string  `json:"id,omitempty"`
	Session string  `json:"session_id,omitempty"`
	Alias   string  `json:"alias,omitempty"`
	Tool    string  `json:"tool,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
	By      string  `json:"by,omitempty"`
	Via     string  `json:"via,omitempty"`
	Proof   string  `json:"proof,omitempty"`
	Result  string  `json:"result,omitempty"`
}

// lineOf returns a line about a request and its verdict.
func lineOf(r Request, verdict, result string) line {
	return line{ID: r.ID, Session: r.Session, Alias: r.Alias, Tool: r.Tool, Verdict: verdict, By: r.By, Via: r.Via, Proof: r.Proof, Result: result}
}

// pairs returns the fields of a line for broker.log, in their order: name, value, name, value, and
// so on.
func (l line) pairs() []string {
	return []string{"id", l.ID, "session_id", l.Session, "alias", l.Alias, "tool", l.Tool, "verdict", l.Verdict, "by", l.By, "via", l.Via, "proof", l.Proof, "result", l.Result}
}

// refuse records in the audit why a verdict does not count. The argument r is the request that the
// verdict answers; it is empty if c2c does not know the request.
func (d *files) refuse(id string, r Request, v Verdict, why error) error {
	if r.ID == "" {
		r = Request{ID: id}
	}
	r.By, r.Via, r.Proof = v.By, v.Via, v.Proof
	return d.audit(lineOf(r, v.word(), reason(why)))
}

func reason(err error) string {
	var decided *DecidedError
	switch {
	case errors.Is(err, ErrPartial):
		return "refused: not shown in full"
	case errors.Is(err, ErrNoProof):
		return "refused: no proof"
	case errors.As(err, &decided) && decided.Request.By != "":
		return "refused: second"
	case errors.As(err, &decided) && decided.Request.State == StateExpired:
		return "refused: expired"
	case errors.As(err, &decided):
		return "refused: late"
	case errors.Is(err, ErrSeveral):
		return "refused: several"
	case errors.Is(err, ErrNoRight):
		return "refused: no right"
	}
	return "refused: unknown"
}

// audit appends a line to the audit and syncs it. It also keeps the line for broker.log, to which
// others write it later, without a sync.
func (d *files) audit(l line) error {
	l.At = mail.Seconds(d.now())
	for _, text := range []*string{&l.ID, &l.Session, &l.Alias, &l.Tool, &l.Verdict, &l.By, &l.Via, &l.Proof, &l.Result} {
		*text = auditText(*text)
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	if err := atomicfile.Rotate(d.dir, auditFile, auditFile+".old", maxAudit); err != nil {
		return err
	}
	if err := d.dir.AppendLines(auditFile, append(data, '\n')); err != nil {
		return err
	}
	if d.log != nil {
		d.lines = append(d.lines, l)
	}
	return nil
}
