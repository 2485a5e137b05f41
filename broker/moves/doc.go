// Package moves hands mail to a session's client, and moves mail from one mailbox to another: when a session takes over from
// another one, when a swept session comes back, when an alias goes to another session, and when an older version has left mail. At
// any time a moved message is in one of the two mailboxes, or in both with the same id.
package moves
