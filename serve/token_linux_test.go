package serve

import (
	"syscall"
	"testing"
)

// A daemon that can open no more files does not tell its clients that their token is wrong.
func TestATokenHoldsWhileNoFileCanBeOpened(t *testing.T) {
	f := newFace(t, Limits{})
	token := f.token()
	if !f.s.isTool(token) {
		t.Fatal("the token does not hold")
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	holds := f.s.isTool(token)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if !holds {
		t.Error("the token does not hold without a file descriptor")
	}
}
