// This part types a line into a client that runs in a tmux pane that a person has made. c2c uses it
// to wake a client that it can reach in no better way. Before it
// types, it checks that the client runs in the pane, that the client is in the foreground there,
// that no person has typed lately, and that the screen does not change. The function Type makes all
// other checks. If c2c is not certain, it returns wake.ErrUncaptured.
//
// A few milliseconds pass between the last check and a paste or an Enter. c2c does not notice if in
// that time a person presses a key, or the client draws a dialog.
//
// A client's screen may show any text: c2c compares this text and quotes it in errors, but never
// obeys it. c2c writes no file. One goroutine at a time may use a Doorbell.

package terminal
