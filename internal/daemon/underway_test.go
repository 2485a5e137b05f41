package daemon

import "testing"

func TestAfterTheEndNoRequestBegins(t *testing.T) {
	var r Underway
	if !r.Begin() {
		t.Fatal("the first one is refused")
	}
	ended := make(chan bool)
	go func() {
		r.End()
		close(ended)
	}()
	for r.Begin() { // End may not have been called yet
		r.Done()
	}
	select {
	case <-ended:
		t.Error("it ended while a request ran")
	default:
	}
	r.Done()
	<-ended
	if r.Begin() {
		t.Error("a request begins after the end")
	}
}
