package cli

import "strings"

// meantBy are words that other programs have for what a verb of ours does. No two lines have the same word.
const meantBy = `poll-inbox read inbox messages message mail mails check get recv receive fetch new unread
list ls ps who sessions agents peers users
outbox sent
status show state
history log logs archive
send msg to tell write mail-to message-to post say
send-all broadcast all
version -v -V
whoami me name
register rename
search find grep
start run launch new-session
doctor debug diagnose
dead-letter lost`

// Meant is the verb that somebody means who types another program's word for it; empty: nobody knows.
func Meant(word string) string {
	for line := range strings.Lines(meantBy) {
		verb, words, _ := strings.Cut(strings.TrimSpace(line), " ")
		for w := range strings.FieldsSeq(words) {
			if w == word {
				return verb
			}
		}
	}
	return ""
}
