// Package moves hands mail to a session's client, and moves mail from one mailbox to another. Mail moves when a session takes over from
// another one, when a swept session comes back, when an alias goes to another session, and when an older version has left mail. A swept
// session is one that "c2c sweep" has removed, because nobody used it and c2c saw no process of its client. At any time a moved message is
// in one of the two mailboxes, or in both with the same id.
package moves
