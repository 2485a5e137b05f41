package shared

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
		if all := <-got + <-got + <-got; all != "777" {
			t.Error(all)
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

// A disk answers late with what was true before a caller asked.
func TestNoCallerGetsWhatWasTrueBeforeItAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := New(2, slog.New(slog.DiscardHandler))
		goOn, now := make(chan struct{}), "old"
		look := func() (string, error) { seen := now; <-goOn; return seen, nil }
		go calls.Do(t.Context(), "dead", look)
		synctest.Wait()
		now = "new"
		got, failed := make(chan string), make(chan map[string]error)
		for range 2 {
			go func() {
				seen, _ := calls.Do(t.Context(), "dead", look)
				got <- seen
			}()
		}
		brief, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		go func() {
			failed <- calls.Each(brief, []string{"dead", "well", "well"}, func(string) error { return nil })
		}()
		if all := <-failed; len(all) != 1 || !errors.Is(all["dead"], context.DeadlineExceeded) {
			t.Errorf("%v", all)
		}
		close(goOn)
		if all := <-got + <-got; all != "newnew" {
			t.Error(all)
		}
	})
}
