// Package moves moves mail from one mailbox to another: when a session hands over or takes over, when a swept session
// comes back, when another session got its alias, and when an older version has left mail. At any time a message is
// in one of the two mailboxes, or in both with the same id.
package moves
