package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
)

// line is a line of the audit. It names the tool, but never contains the tool's input.
type line struct {
	Request
	verdict, by, via, proof, result string
}

// pairs returns the fields of a line in their order in the file: name, value, name, value, and so on.
func (l line) pairs() []string {
	return []string{"id", l.ID, "session_id", l.Session, "alias", l.Alias, "tool", l.Tool, "verdict", l.verdict, "by", l.by, "via", l.via, "proof", l.proof, "result", l.result}
}

// refuse records in the audit why a verdict does not count. The argument r is the request that the verdict answers; it is
// empty if c2c does not know the request.
func (d *files) refuse(id string, r Request, v Verdict, why error) error {
	if r.ID == "" {
		r = Request{ID: id}
	}
	return d.audit(line{Request: r, verdict: v.word(), by: v.By, via: v.Via, proof: v.Proof, result: reason(why)})
}

func reason(err error) string {
	var decided *DecidedError
	var expired *ExpiredError
	var ambiguous *AmbiguousError
	var partial *PartialError
	switch {
	case errors.As(err, &partial):
		return "refused: not shown in full"
	case errors.Is(err, ErrNoProof):
		return "refused: no proof"
	case errors.As(err, &decided) && decided.Request.By != "":
		return "refused: second"
	case errors.As(err, &decided):
		return "refused: late"
	case errors.As(err, &expired):
		return "refused: expired"
	case errors.As(err, &ambiguous):
		return "refused: several"
	case errors.Is(err, ErrNoRight):
		return "refused: no right"
	}
	return "refused: unknown"
}

// audit appends a line to the audit and syncs it. It also keeps the line for broker.log, to which others write it later,
// without a sync.
func (d *files) audit(l line) error {
	pairs := l.pairs()
	for i := 1; i < len(pairs); i += 2 {
		pairs[i] = auditText(pairs[i])
	}
	if err := atomicfile.Rotate(d.dir, auditFile, auditFile+".old", maxAudit); err != nil {
		return err
	}
	if err := d.dir.AppendLines(auditFile, auditLine(mail.Seconds(d.now()), pairs)); err != nil {
		return err
	}
	if d.log != nil {
		d.lines = append(d.lines, pairs)
	}
	return nil
}

// auditLine formats a line without its empty fields.
func auditLine(ts float64, pairs []string) []byte {
	b := bytes.NewBufferString(`{"ts":` + strconv.FormatFloat(ts, 'f', -1, 64))
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			continue
		}
		text, _ := json.Marshal(pairs[i+1])
		b.WriteString(`,"` + pairs[i] + `":`)
		b.Write(text)
	}
	b.WriteString("}\n")
	return b.Bytes()
}
