package sessions

import (
	"bytes"
	"context"
	"math"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
)

// Holds makes a function for the field Holds of inbox.Query. With it, a search skips data that does
// not contain the text.
func Holds(text string) func([]byte) bool {
	return func(data []byte) bool { return bytes.Contains(data, []byte(text)) }
}

// WithIDs makes a query for all messages with these ids.
func WithIDs(ids map[string]bool) inbox.Query {
	return inbox.Query{IDs: ids, Match: func(m mail.Message) bool { return ids[m.ID] }, Limit: math.MaxInt}
}

func (reg *Registry) SearchOne(ctx context.Context, sid string, q inbox.Query) ([]inbox.Found, error) {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return nil, err
	}
	q.Wait = KeepWait // a stopped process may hold the mailbox's lock
	return box.Search(ctx, q)
}

// KeepWait bounds how long a search waits for one locked mailbox.
const KeepWait = 2 * time.Second
