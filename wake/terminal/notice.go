package terminal

import (
	"slices"
	"strconv"
	"strings"

	"c2c/inbox/mail"
	"c2c/wake"
)

// isNotice reports whether a prompt shows the text of one ring and nothing else. This may be an
// earlier ring, for other mail: a client may keep the text in its prompt although c2c has pressed
// Enter.
func isNotice(draft string) bool {
	rest, ours := strings.CutPrefix(squeeze(draft), `<c2cevent="message_pending"count="`)
	count, rest, more := strings.Cut(rest, `"from="`)
	senders, rest, end := strings.Cut(rest, `">`)
	if _, err := strconv.ParseUint(count, 10, 31); !ours || !more || !end || err != nil {
		return false
	}
	for sender := range strings.SplitSeq(senders, ",") {
		if senders != "" && mail.CheckAlias(sender) != nil {
			return false
		}
	}
	return slices.ContainsFunc([]bool{false, true}, func(noTool bool) bool {
		return rest == squeeze(wake.Notice{NoTool: noTool}.What()+"</c2c>")
	})
}
