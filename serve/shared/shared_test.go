package shared

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"c2c/process/survive"
)

func TestCallersOfTheSameShareOneCallAndNobodyHasToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := New(2, slog.New(slog.DiscardHandler))
		goOn, began := make(chan struct{}), atomic.Int32{}
		hang := func() (string, error) { began.Add(1); <-goOn; return "7", nil }
		got := make(chan string)
		for range 3 {
			go func() {
				n, err := calls.Do(t.Context(), "dead", hang)
				if err != nil {
					t.Error(err)
				}
				got <- n
			}()
		}
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		impatient := make(chan error)
		go func() {
			_, err := calls.Do(ctx, "dead", hang)
			impatient <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-impatient; !errors.Is(err, context.Canceled) || began.Load() != 1 {
			t.Errorf("%v; %d calls began", err, began.Load())
		}
		if n, err := calls.Do(t.Context(), "well", func() (string, error) { return "8", nil }); n != "8" || err != nil {
			t.Errorf("another key: %q, %v", n, err)
		}
		go calls.Do(t.Context(), "also dead", hang)
		synctest.Wait()
		if _, err := calls.Do(t.Context(), "well", hang); !errors.Is(err, ErrBusy) {
			t.Errorf("a third call at the same time: %v", err)
		}
		close(goOn)
		if all := <-got + <-got + <-got; all != "777" || began.Load() != 2 {
			t.Errorf("%q, %d calls began", all, began.Load())
		}
	})
}

func TestACallThatPanicsIsAnErrorAndTheNextOneRuns(t *testing.T) {
	t.Parallel()
	calls := New(1, slog.New(slog.DiscardHandler))
	if _, err := calls.Do(t.Context(), "a", func() (string, error) { panic("again") }); !errors.Is(err, survive.ErrPanic) {
		t.Error(err)
	}
	if n, err := calls.Do(t.Context(), "a", func() (string, error) { return "1", nil }); n != "1" || err != nil {
		t.Errorf("%q, %v", n, err)
	}
}
