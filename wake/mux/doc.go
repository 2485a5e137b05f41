// Package mux is the last-resort doorbell: it types a line into a client that
// runs in a tmux pane or a GNU screen window, which we did not make. Before
// anything is typed the pane must be known: it is the client's, the client is
// in its foreground, nobody has typed lately, and the picture is still. All else
// is as screen.Type says. What is not known for certain is wake.ErrUncaptured.
//
// What remains: a key pressed, or a dialog drawn, in the few milliseconds
// between the last look and a paste or an Enter is not seen. Of screen less is
// known (screen.go).
//
// A client's screen may show anything: its text is compared, never obeyed, and
// quoted in errors. Nothing is kept on disk here but a picture that screen
// writes during a ring. A Doorbell is for one goroutine at a time.
package mux
