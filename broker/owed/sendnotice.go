package owed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"c2c/inbox"
	"c2c/inbox/mail"
	"c2c/sessions"
)

// Told is one notice to the sender of a message.
type Told struct {
	Reason string    `json:"reason"`
	At     time.Time `json:"at"` // UTC
}

// NoticeID makes the id of a notice from the reason and other parts. A mailbox takes each id of a
// sender only once. So a notice that is sent twice, after a kill or by two processes at the same
// moment, is stored once.
func NoticeID(reason string, parts ...string) string {
	sum := sha256.Sum256([]byte(reason + "\x00" + strings.Join(parts, "\x00")))
	return mail.UUIDOf(8, [16]byte(sum[:16]))
}

func About(m mail.Message, reason string) string {
	return NoticeID(reason, sessions.Fold(m.From), m.FromSession, sessions.Fold(m.To), m.ID)
}

// TellSender puts a notice into the mailbox of a message's sender, once for each reason.
func TellSender(ctx context.Context, reg *sessions.Registry, authors *sessions.Authors, n News) error {
	to := authors.Of(n.Message)
	if to == nil || n.Message.From == sessions.SystemAlias {
		return nil
	}
	return TellTogether(ctx, reg, to, []News{n})
}

// maxTold is the maximum number of messages in one mailbox about which a sender gets notices: who
// ignores five ignores the sixth.
const maxTold = 5

// Quota counts, for one mailbox, the messages about which their senders want notices. The key is
// the sender's folded alias.
type Quota map[string]int

// Take reports whether to notify the sender of a message, and counts the message. It does not count
// a message whose sender wants no notice.
func (q Quota) Take(m mail.Message) bool {
	if !wantsNotice(m) {
		return false
	}
	q[sessions.Fold(m.From)]++
	return q[sessions.Fold(m.From)] <= maxTold
}

// TellDead notifies the senders of dead letters of one mailbox. Call it before the messages are
// removed from the mailbox: if the process is killed in between, the next try calls it again. It
// only logs errors.
func TellDead(ctx context.Context, reg *sessions.Registry, rows []sessions.Row, told Quota, dead ...DeadLetter) {
	var all []News
	for _, d := range dead {
		if told.Take(d.Message) {
			all = append(all, News{Message: d.Message, Reason: sessions.Dead, Why: d.Reason})
		}
	}
	TellSenders(ctx, reg, reg.Authors(rows), all)
}

// SendNotice puts the notice m into the mailbox of the session sid, unless the mailbox has already
// had a notice with the same id.
func SendNotice(ctx context.Context, reg *sessions.Registry, sid string, m mail.Message, reason string) error {
	box, err := reg.Mailbox(sid)
	if err != nil {
		return err
	}
	m.From, m.FromSession, m.Kind, m.Deferrable = sessions.SystemAlias, sessions.SystemAlias, mail.KindSystem, !kindOf(reason).rings
	stored, err := Deliver(ctx, reg, sid, box.Deliver, m)
	if taken := new(inbox.IDTakenError); errors.As(err, &taken) {
		return nil // the notice was sent before, with other words
	}
	if err != nil {
		return fmt.Errorf("tell session %q: %w", sid, err)
	}
	if !stored.Already[0] {
		reg.Events.Record(ctx, "notice", "to_alias", m.To, "reason", reason, "message_id", m.ID, "about", m.InReplyTo)
	}
	return nil
}

// ToldOf finds the notices that the sender of m has got about m.
func ToldOf(ctx context.Context, reg *sessions.Registry, rows []sessions.Row, m mail.Message) (all []Told, err error) {
	to := reg.Authors(rows).Of(m)
	if to == nil {
		return nil, nil
	}
	box, err := reg.Mailbox(to.SID())
	if err != nil {
		return nil, err
	}
	reasons := map[string]string{}
	var ids []string
	for _, k := range kinds {
		if k.text.one == "" {
			continue
		}
		if id := About(m, k.status); reasons[id] == "" {
			reasons[id], ids = k.status, append(ids, id)
		}
	}
	found, err := box.Search(ctx, inbox.Query{
		Holds: func(data []byte) bool {
			return slices.ContainsFunc(ids, func(id string) bool { return bytes.Contains(data, []byte(id)) })
		},
		Match: func(notice mail.Message) bool {
			return notice.IsNotice() && slices.ContainsFunc(NoticesIn(notice), func(id string) bool { return reasons[id] != "" })
		}, Limit: len(ids),
	})
	for _, f := range found {
		for _, id := range NoticesIn(f.Message) {
			if reasons[id] != "" {
				all = append(all, Told{reasons[id], f.Message.Time().UTC()})
			}
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].At.Before(all[j].At) })
	return all, err
}

// DescribeMessage names a message to its sender: by its first words and its short id, or only by
// the id if the message has no content.
func DescribeMessage(m mail.Message) string {
	const limit = 40
	words := []rune(strings.Join(strings.Fields(m.Content), " "))
	if len(words) == 0 {
		return mail.ShortID(m.ID)
	}
	if len(words) > limit {
		words = append(words[:limit], '…')
	}
	return fmt.Sprintf("%q (%s)", mail.Visible(string(words), ""), mail.ShortID(m.ID))
}

// Span writes a duration: in seconds if it is below two minutes, otherwise in hours and minutes.
func Span(d time.Duration) string {
	if d < 2*time.Minute {
		return fmt.Sprintf("%d s", max(0, d.Round(time.Second)/time.Second))
	}
	minutes := int(d.Round(time.Minute) / time.Minute)
	switch h, m := minutes/60, minutes%60; {
	case h == 0:
		return fmt.Sprintf("%d min", m)
	case m == 0:
		return fmt.Sprintf("%d h", h)
	default:
		return fmt.Sprintf("%d h %d min", h, m)
	}
}
