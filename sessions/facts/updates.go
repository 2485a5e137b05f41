package facts

import (
	"context"
	"fmt"
	"slices"

	"c2c/inbox/mail"
)

// SetConversation records the conversation, of those in one process, in which a session's user has written last.
func (st *Store) SetConversation(ctx context.Context, sid, id string) error {
	if !mail.ValidName(id) {
		return fmt.Errorf("conversation id %q is not a valid name", id)
	}
	return st.Change(ctx, sid, func(f *Facts) { f.Conversation = id })
}

// maxUnseen bounds how many messages c2c shows to a person later.
const maxUnseen = 50

// ChangeUnseen removes the messages that were shown to a session's user, and adds others that must still be shown. Hooks of one
// session may run at the same time.
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
