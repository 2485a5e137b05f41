package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The program to compare with is mdeliver from mblaze, if it is installed. It is small and written
// in C: it delivers one message to a Maildir and syncs the file, but not its directory.
const besideWords = "mdeliver of mblaze, which delivers a message to a Maildir and syncs the file, not its directory"

// beside is that program. missing says why it is not used; nil if it is.
type beside struct{ missing error }

func newBeside(w *world) *beside {
	for _, dir := range []string{"cur", "new", "tmp"} {
		if err := os.MkdirAll(filepath.Join(w.maildir(), dir), 0o700); err != nil {
			return &beside{err}
		}
	}
	_, err := exec.LookPath("mdeliver")
	return &beside{err}
}

func (w *world) maildir() string { return filepath.Join(w.home, "maildir") }

func otherSend(w *world) ([]float64, error) { return one(w.time("mdeliver", w.maildir())) }

func otherStream(senders int) action {
	return func(w *world) ([]float64, error) {
		each := 24 / senders
		start := time.Now()
		_, err := w.together(senders, each, func(int) []string { return []string{"mdeliver", w.maildir()} })
		return one(since(start)/float64(each*senders), err)
	}
}

func (b *beside) String() string {
	if b.missing != nil {
		return fmt.Sprintf("The column beside is empty: %v.", b.missing)
	}
	return "Beside is " + besideWords + ", in the same rounds."
}
