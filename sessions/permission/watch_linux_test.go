package permission

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Who waits for changes looks after each one. If looking were a change, it would never end.
func TestLookingIsNoChange(t *testing.T) {
	l := newLab(t)
	l.ask("s1", "abcde")
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if _, err := unix.InotifyAddWatch(fd, l.LockPath(), unix.IN_CLOSE_WRITE); err != nil {
		t.Fatal(err)
	}
	changed := func() bool {
		n, _ := unix.Read(fd, make([]byte, 4096))
		return n > 0
	}
	other := l.other()
	other.LockPath()
	_, listErr := other.List(t.Context())
	if _, err := other.Get("s1", "abcde"); err != nil || listErr != nil {
		t.Fatal(err, listErr)
	}
	if changed() {
		t.Error("who looked has changed something")
	}
	if _, err := other.Decide(t.Context(), "abcde", yes); err != nil || !changed() {
		t.Errorf("a verdict is no change, %v", err)
	}
}
