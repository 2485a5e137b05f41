// Package qwen reaches an idle Qwen Code session over the client's own socket for messages between
// sessions.
//
// All this was measured with version 0.24.4, whose documents describe the protocol
// (users/features/cross-session-protocol). The client listens on $QWEN_CODE_MESSAGING_SOCKET and
// takes two lines of JSON, a token and a message. c2c sends the token that the client gives its
// children. The client then tells the model that the message is from a process that the session has
// started, and has no authority of the user. (There are two more tokens. With the token in the
// client's public record, the client would ask the person first. With a controller's token, the
// words would count as the user's.) The message starts a turn; if a turn runs already, the new turn
// comes after it. Every "<" in the message becomes "&lt;". A half-typed draft stays in the prompt,
// and an open dialog stays open. Each message starts its own turn, and the client drops 10 of 40
// messages that come at once, so c2c packs mail into one message.
//
// The message contains an address of c2c. The client connects there and reports what it did with
// the message: it has dropped, refused or delivered (queued) the message, or holds it until its
// person accepts it (agents.crossSessionInbound). The proof that the model got the message is the
// client's record of the session, <project>/chats/<session>.jsonl. The client writes the message
// into this file 20 to 40 ms before it asks the model. A message names the session that it is for.
// After /clear, the client drops a queued message for the old session, and reports this. With -p,
// or with agents.crossSessionMessaging off, there is no socket.
//
// One goroutine at a time may use a Socket.
package qwen
