package inbox

import (
	"testing"

	"c2c/inbox/mail"
)

func TestWhatAClientWasSeenToHaveIsReadOnce(t *testing.T) {
	m, _ := newBox(t)
	ids := deliver(t, m, letter("one"), letter("two"), letter("three"))
	mark, err := m.Archive().Mark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Lease(t.Context(), "socket", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	second := func(msg mail.Message) bool { return msg.Content == "two" }
	for range 2 { // a receipt may come twice
		if err := m.Receive(t.Context(), second, "socket"); err != nil {
			t.Fatal(err)
		}
	}
	st, err := findOne(t, m, ids[1].ID)
	if err != nil || st.Where != Archived || st.By != "socket" {
		t.Errorf("status %+v, %v", st, err)
	}
	got, err := m.Archive().IDsSince(mark)
	if err != nil || len(got) != 1 || !got[ids[1].ID] {
		t.Errorf("archived since the mark %v, %v", got, err)
	}
	if err := l.Ack(t.Context(), ids[1].ID); err != nil {
		t.Fatal(err)
	}
	if left := peek(t, m); left != "one three" {
		t.Errorf("left %q", left)
	}
	if h, err := m.archive.History(t.Context(), 10); err != nil || len(h) != 1 {
		t.Errorf("archive has %d records, %v, want 1", len(h), err)
	}
}

func TestAReceiptForAnotherReadersMailIsIgnored(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, letter("one"))
	l := lease(t, m)
	if err := m.Receive(t.Context(), func(mail.Message) bool { return true }, "socket"); err != nil {
		t.Fatal(err)
	}
	if h, _ := m.archive.History(t.Context(), 10); len(h) != 0 {
		t.Errorf("archive has %d records", len(h))
	}
	l.Release()
}

func TestWhatALiveReaderHasDoesNotWait(t *testing.T) {
	m, _ := newBox(t)
	deliver(t, m, letter("one"))
	l := lease(t, m)
	if waits, err := m.Waiting(); waits || err != nil {
		t.Errorf("waits %v, %v while a reader has it", waits, err)
	}
	l.Release()
	if waits, err := m.Waiting(); !waits || err != nil {
		t.Errorf("waits %v, %v after the release", waits, err)
	}
}
