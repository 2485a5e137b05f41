package broker_test

import (
	"context"
	"testing"
	"time"

	"c2c/broker"
	"c2c/inbox/mail"
	"c2c/internal/atomicfile"
	"c2c/sessions/callers"
)

// The reader's time ends while it writes, and the ack of a part must wait for the mailbox.
func TestWhatWasWrittenIsAcknowledgedThoughTheTimeIsOver(t *testing.T) {
	w := newWorld(t)
	amber, birch := w.register("amber", callers.Caller{PID: w.pid(10)}), w.register("birch", callers.Caller{PID: w.pid(20)})
	w.send(amber, "birch", "one")
	w.send(amber, "birch", "two")
	ctx, end := context.WithCancel(t.Context())
	err := w.HandOver(ctx, birch, broker.Reader{
		By: "test", Limit: 1 << 20,
		Render: func([]mail.Message, bool) (broker.Rendered, error) {
			return broker.Rendered{Shown: []int{0}, Write: func() error {
				lock, err := atomicfile.Acquire(t.Context(), w.Dir(), w.box(birch.ID).LockName())
				if err == nil {
					time.AfterFunc(50*time.Millisecond, func() { lock.Release() })
				}
				end()
				return err
			}}, nil
		},
	})
	if err != nil {
		t.Error(err)
	}
	w.wantMail(birch.ID, "two")
}
