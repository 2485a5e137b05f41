// Package moves moves mail from one mailbox to another. Mail moves when a session takes over from
// another one, when a swept session comes back, and when an alias goes to another session. A swept
// session is one that "c2c sweep" has removed, because nobody used it and c2c saw no process of its
// client. At any time a moved message is where it comes from, where it goes to, or in both places
// with the same id. The places are mailboxes and the dead letters.
package moves
