package relay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"c2c/relay"
)

// The relay needs more time than the c2c that has put mail into an outbox waits.
func TestARelayThatStartsSlowlyIsNoTrouble(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home) // of the daemon that it starts
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	r, err := Open(getenv, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ends := filepath.Join(home, "ends") // the relay waits until something is written there
	if err := syscall.Mkfifo(ends, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	err = r.Hosts(time.Now).Add(t.Context(), relay.Host{Name: "devbox", Carrier: relay.SSH, Dest: "me@devbox", Key: public(t)})
	if err != nil {
		t.Fatal(err)
	}
	out, err := Want(ctx, getenv)
	if !errors.Is(err, context.DeadlineExceeded) || out != "" {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.WriteFile(ends, nil, 0); err != nil {
		t.Error(err)
	}
}
