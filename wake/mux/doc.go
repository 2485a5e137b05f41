// Package mux is the doorbell of last resort: it types a line into a client that
// runs in a tmux pane or a GNU screen window that a person has made. Before it
// types, it checks that the pane is the client's, that the client is in its
// foreground, that no person has typed lately, and that the screen does not
// change. screen.Type checks the rest. If mux is not certain, it returns
// wake.ErrUncaptured.
//
// Between its last check and a paste or an Enter a few milliseconds pass. In that
// time it cannot see a key that a person presses, or a dialog that the client
// draws. Screen shows less than tmux (screen.go).
//
// A client's screen may show anything: mux compares its text, never obeys it, and
// quotes it in errors. It writes no file, but screen writes a copy of its window
// during a ring. One goroutine at a time may use a Doorbell.
package mux
