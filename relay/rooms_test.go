package relay

import (
	"context"
	"errors"
	"slices"
	"testing"

	"c2c/inbox/mail"
)

// order records to whom mail was delivered, in calls of Deliver. It fails once for each alias in
// fails.
type order struct {
	Post
	calls []string
	fails map[string]bool
}

func (o *order) Deliver(_ context.Context, _, alias string, msgs []mail.Message, _ bool) (Reason, error) {
	if o.fails[alias] {
		delete(o.fails, alias)
		return Stored, errors.New("input/output error")
	}
	call := alias
	for _, m := range msgs {
		call += " " + m.ID
	}
	o.calls = append(o.calls, call)
	return Stored, nil
}

// A room gets another name, and a new one its old name: what a machine is told of either must come
// in the order in which it was said. A copy that has followed its room already knows no posts under
// the old name.
func TestMessagesAboutRoomsKeepTheirOrder(t *testing.T) {
	var msgs []incoming
	for i, to := range []string{"#a", "birch", "#a", "#b", "birch", "#a"} {
		msgs = append(msgs, incoming{Message: mail.Message{To: to, ID: string(rune('1' + i)), Kind: mail.KindSystem}, why: Stored})
	}
	for _, c := range []struct {
		fails map[string]bool
		whole int
		want  []string
	}{
		{nil, 6, []string{"#a 1 3", "birch 2 5", "#b 4", "#a 6"}},
		{map[string]bool{"#a": true}, 0, []string{"birch 2 5"}},
		{map[string]bool{"#b": true}, 3, []string{"#a 1 3", "birch 2 5"}},
		{map[string]bool{"birch": true}, 1, []string{"#a 1 3", "#b 4", "#a 6"}},
	} {
		post := &order{fails: c.fails}
		in := &receiver{l: &line{Relay: &Relay{Config: Config{Post: post, Fault: func(string) error { return nil }}}}}
		got := slices.Clone(msgs)
		err := in.deliver(t.Context(), Host{Projects: []string{AnyName}, Aliases: []string{AnyName}}, got, false, map[string]bool{})
		whole := slices.IndexFunc(append(got, incoming{}), func(m incoming) bool { return !m.done })
		if whole != c.whole || (err != nil) != (c.whole < 6) || !slices.Equal(post.calls, c.want) {
			t.Errorf("%d %v: %q, want %d: %q", whole, err, post.calls, c.whole, c.want)
		}
	}
}
