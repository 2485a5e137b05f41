package inbox

import (
	"fmt"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// written counts how often a file of a directory was put in place since the last call.
func written(t *testing.T, dir, name string) func() int {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	return func() (count int) {
		t.Helper()
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		if err == unix.EAGAIN {
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < n; {
			size := unix.SizeofInotifyEvent + int(buf[at+12]) // names are short
			if got := unix.ByteSliceToString(buf[at+unix.SizeofInotifyEvent : at+size]); got == name {
				count++
			}
			at += size
		}
		return count
	}
}

func TestSendersThatWaitAreStoredInOneWrite(t *testing.T) {
	const senders = 16
	m, root := newBox(t)
	lk := held(t, m)
	count := written(t, root, m.inboxName())
	var all []*exec.Cmd
	for i := range senders {
		cmd := child(t, "send", root, fmt.Sprintf("s%d", i), "1")
		start(t, cmd)
		all = append(all, cmd)
	}
	awaitQueued(t, root, senders)
	if n := count(); n != 0 {
		t.Errorf("%d writes under the lock of another", n)
	}
	lk.Release()
	for _, cmd := range all {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	if n := count(); n != 1 {
		t.Errorf("%d writes for %d senders", n, senders)
	}
	got, err := drain(t.Context(), m, "test")
	from := map[string]bool{}
	for _, msg := range got {
		from[msg.From] = true
	}
	if err != nil || len(got) != senders+1 || len(from) != senders+1 {
		t.Errorf("%d messages of %d senders, %v", len(got), len(from), err)
	}
	wantNoQueue(t, root)
}
