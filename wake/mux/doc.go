// Package mux types a line into a client that runs in a tmux pane or a GNU screen window that a person has made. It is the
// last resort to wake a client. Before it types, it checks that the pane is the client's, that the client is in its
// foreground, that no person has typed lately, and that the screen does not change. screen.Type checks the rest. If mux is
// not certain, it returns wake.ErrUncaptured.
//
// A few milliseconds pass between the last check and a paste or an Enter. In that time mux cannot see a key that a person
// presses, or a dialog that the client draws. GNU screen shows less to mux than tmux does (see gnuScreen).
//
// A client's screen may show anything: mux compares its text, never obeys it, and quotes it in errors. mux itself writes no
// file, but GNU screen writes a copy of its window during a ring. One goroutine at a time may use a Doorbell.
package mux
