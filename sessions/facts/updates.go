package facts

import (
	"context"
	"fmt"
	"slices"

	"c2c/inbox/mail"
)

// SetConversation records in which conversation of its process a session's person has written last.
func (st *Store) SetConversation(ctx context.Context, sid, id string) error {
	if !mail.ValidName(id) {
		return fmt.Errorf("conversation id %q is not a valid name", id)
	}
	return st.Change(ctx, sid, func(f *Facts) { f.Conversation = id })
}

// maxUnseen bounds what a person is told later.
const maxUnseen = 50

// ChangeUnseen removes the messages that a session's person was told about, and adds others that the person is still to be told
// about. Hooks of one session may run at the same time.
func (st *Store) ChangeUnseen(ctx context.Context, sid string, told, unseen []string) error {
	if len(told)+len(unseen) == 0 {
		return nil
	}
	return st.Change(ctx, sid, func(f *Facts) {
		left := slices.DeleteFunc(f.Unseen, func(id string) bool { return slices.Contains(told, id) })
		left = append(left, unseen...)
		f.Unseen = left[max(0, len(left)-maxUnseen):]
	})
}
