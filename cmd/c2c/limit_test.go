package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestALimitEndsAsAContextWithATimeoutDoes(t *testing.T) {
	for name, look := range map[string]func(ctx context.Context) error{
		"to one that waits": func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
		"to one that looks": func(ctx context.Context) error { time.Sleep(time.Hour); return ctx.Err() },
		"with its cause":    func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
		"with what was made of it": func(ctx context.Context) error {
			below, cancel := context.WithTimeout(ctx, 2*time.Hour)
			defer cancel()
			<-below.Done()
			return context.Cause(below)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := within(t.Context(), time.Minute)
				defer end()
				if at, ok := ctx.Deadline(); !ok || !at.Equal(time.Now().Add(time.Minute)) || ctx.Err() != nil {
					t.Errorf("it ends at %v, %v: %v", at, ok, ctx.Err())
				}
				if err := look(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		})
	}
}

func TestALimitEndsWithWhatItLimits(t *testing.T) {
	for _, waits := range []bool{false, true} {
		above, cancel := context.WithCancelCause(t.Context())
		ctx, end := within(above, time.Hour)
		defer end()
		if waits {
			ctx.Done()
		}
		cancel(errUsage)
		if waits {
			<-ctx.Done()
		}
		if err := context.Cause(ctx); ctx.Err() != context.Canceled || err != errUsage {
			t.Errorf("waited for %v: %v, because of %v", waits, ctx.Err(), err)
		}
	}
}

func TestALimitThatNobodyNeedsAnyMoreHasNoTimer(t *testing.T) {
	ctx, end := within(t.Context(), time.Hour)
	ctx.Done()
	end()
	if err := ctx.Err(); err != context.Canceled {
		t.Error(err)
	}
}
