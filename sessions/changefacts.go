package sessions

import (
	"context"
	"slices"

	"c2c/inbox/mail"
)

// SetConversation records the conversation to which a session's user wrote last. A client's process
// may have several conversations.
func (st *FactStore) SetConversation(ctx context.Context, sid, id string) error {
	if err := mail.CheckName("conversation id", id); err != nil {
		return err
	}
	return st.Change(ctx, sid, func(f *Facts) { f.Conversation = id })
}

// maxUnseen bounds the list Unseen.
const maxUnseen = 50

// ChangeUnseen edits the list of messages that must still be shown to a session's user: it removes
// the ids in told, and adds the ids in unseen. Hooks of one session may call it at the same time.
func (st *FactStore) ChangeUnseen(ctx context.Context, sid string, told, unseen []string) error {
	if len(told)+len(unseen) == 0 {
		return nil
	}
	return st.Change(ctx, sid, func(f *Facts) {
		left := slices.DeleteFunc(f.Unseen, func(id string) bool { return slices.Contains(told, id) })
		left = append(left, unseen...)
		f.Unseen = left[max(0, len(left)-maxUnseen):]
	})
}
