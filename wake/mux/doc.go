// Package mux is the last-resort doorbell: it types a line into a client that
// runs in a tmux pane or a GNU screen window, which c2c did not make. Before it
// types, it makes sure that the pane is the client's, that the client is in its
// foreground, that no person has typed lately, and that the picture is still. For
// the rest see screen.Type. If it is not certain, it returns wake.ErrUncaptured.
//
// It cannot see a key that a person presses, or a dialog that the client draws,
// in the few milliseconds between the last look and a paste or an Enter. Screen
// shows less than tmux (screen.go).
//
// A client's screen may show anything: mux compares its text, never obeys it, and
// quotes it in errors. The only file on disk is a picture that screen writes
// during a ring. One goroutine at a time may use a Doorbell.
package mux
