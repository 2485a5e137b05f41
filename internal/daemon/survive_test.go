package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPanicIsAnErrorAndALineOfTheLog(t *testing.T) {
	var log bytes.Buffer
	to := slog.New(slog.NewTextHandler(&log, nil))
	empty := ""
	if err := Survive(to, "look", func() error { _ = empty[0]; return nil }); !errors.Is(err, ErrPanic) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"work=look", "index out of range", "survive_test.go"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no %q in %s", want, &log)
		}
	}
	log.Reset()
	if err := Survive(to, "look", func() error { panic("words of a message") }); !errors.Is(err, ErrPanic) || strings.Contains(log.String(), "words") {
		t.Errorf("%v, %s", err, &log)
	}
	log.Reset()
	broken := errors.New("broken")
	if err := Survive(to, "look", func() error { return broken }); err != broken || log.Len() > 0 {
		t.Errorf("%v, %s", err, &log)
	}
}

func TestWorkThatPanicsIsBegunAgainAtItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		times := 0
		SurviveLoop(t.Context(), log, "look", func() {
			if times++; times < 3 {
				panic("again")
			}
		})
		if times != 3 {
			t.Errorf("%d times", times)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		times = 0
		SurviveLoop(ctx, log, "look", func() { times++; panic("for ever") })
		if times < 60 || times > 70 { // 1, 2, 4 s and so on, and then once a minute
			t.Errorf("%d times in an hour", times)
		}
	})
}
