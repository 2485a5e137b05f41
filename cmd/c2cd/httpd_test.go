package main

import (
	"errors"
	"testing"
	"testing/synctest"
)

func TestTheDaemonEndsAlthoughTheWorkInARootDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken, goOn := errors.New("broken"), make(chan struct{})
		if err := inTime(func() error { return broken }); err != broken {
			t.Error(err)
		}
		if err := inTime(func() error { <-goOn; return nil }); err == nil {
			t.Error("nobody is told of the work that does not end")
		}
		close(goOn)
	})
}
