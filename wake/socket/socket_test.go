package socket

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"testing"
	"time"

	"c2c/wake"
)

// Nobody accepts, and the message is more than the socket holds.
func TestAClientThatDoesNotReadIsNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	begun := time.Now()
	if err := WriteSocket(ctx, path, make([]byte, 8<<20), nil); !errors.Is(err, wake.ErrUncaptured) {
		t.Error(err)
	}
	if took := time.Since(begun); took >= writeTime {
		t.Errorf("it took %v", took)
	}
}
