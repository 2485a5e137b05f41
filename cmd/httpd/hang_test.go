package httpd

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"c2c/broker/owed"
	"c2c/mcp"
)

// The disk of the root "dead" does not answer.
func TestMetricsOfARootThatHangsAreLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		h := &Host{Log: slog.New(slog.DiscardHandler)}
		hanging := atomic.Int32{}
		write := h.measure(func() []string { return []string{"/well", "/dead", "/also well"} }, func(_ context.Context, root string) (owed.Stats, error) {
			if root == "/dead" {
				hanging.Add(1)
				<-goOn
			}
			return owed.Stats{Root: root}, nil
		})
		seen := func() (roots []string) {
			var out bytes.Buffer
			ctx, end := context.WithTimeout(t.Context(), time.Minute)
			defer end()
			write(ctx, &out)
			for _, root := range []string{"/also well", "/dead", "/well"} {
				if strings.Contains(out.String(), `c2c_obligations{root="`+root+`",state="open"}`) {
					roots = append(roots, root)
				}
			}
			return roots
		}
		for range 2 {
			if got := strings.Join(seen(), " "); got != "/also well /well" || hanging.Load() != 1 {
				t.Errorf("metrics of %s; %d calls hang", got, hanging.Load())
			}
		}
		close(goOn)
		synctest.Wait()
		if got := len(seen()); got != 3 {
			t.Errorf("when the disk answers: metrics of %d roots", got)
		}
	})
}

// A client that waits for a root hangs up. Another one waits for the same root.
func TestMetricsDoNotDependOnAnotherClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, reads := &Host{Log: slog.New(slog.DiscardHandler)}, atomic.Int32{}
		write := h.measure(func() []string { return []string{"/root", "/root"} }, func(ctx context.Context, root string) (owed.Stats, error) {
			reads.Add(1)
			select {
			case <-time.After(time.Second): // then the root's lock is free
			case <-ctx.Done():
			}
			return owed.Stats{Root: root}, ctx.Err()
		})
		first, hangUp := context.WithCancel(t.Context())
		go write(first, io.Discard)
		synctest.Wait()
		time.AfterFunc(time.Millisecond, hangUp)
		var out bytes.Buffer
		write(t.Context(), &out)
		if !strings.Contains(out.String(), `c2c_obligations{root="/root",state="open"}`) || reads.Load() != 2 {
			t.Errorf("read %d times: %s", reads.Load(), &out)
		}
	})
}

func TestARootThatHangsKeepsNoOtherFromItsRinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &Host{Log: slog.New(slog.DiscardHandler)}
		tools := mcp.NewHTTP(mcp.HTTPConfig{})
		defer tools.Close(t.Context())
		goOn, wellStopped := make(chan struct{}), false
		b := h.newBells(tools)
		b.running["/dead"] = &running{stop: func() { <-goOn }}
		b.running["/well"] = &running{stop: func() { wellStopped = true }}
		for range 2 {
			if b.update(t.Context()) || !wellStopped || len(b.running) != 1 {
				t.Errorf("stopped: %v, %d run", wellStopped, len(b.running))
			}
		}
		b.write(t.Context(), io.Discard)
		close(goOn)
		if !b.update(t.Context()) || len(b.running) != 0 {
			t.Errorf("when the disk answers, %d run", len(b.running))
		}
	})
}
