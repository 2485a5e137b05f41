package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"c2c/inbox/mail"
)

// maxBody is how many bytes Body reads at most. The mailbox has a smaller limit, and returns an
// error for a message above that limit.
const maxBody = 1 << 20

const ofFile = "-F takes the path of a text file; a text itself comes after the alias, in quotes"

// Body reads the text of a message: from the words, from a file, or from standard input (- as the
// file or as the only word).
func Body(stdin io.Reader, file string, words []string) (string, error) {
	text, in := strings.Join(words, " "), io.Reader(nil)
	switch {
	case file != "" && len(words) > 0:
		return "", fmt.Errorf("%w: both a text and -F were given: give one of them", ErrUsage)
	case file == "-", file == "" && text == "-":
		in = stdin
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return "", unread(err, ofFile)
		}
		defer f.Close()
		in = f
	case len(words) == 0:
		return "", fmt.Errorf("%w: no body: give it as an argument, with -F file, or - for standard input", ErrUsage)
	}
	if in != nil {
		data, err := io.ReadAll(io.LimitReader(in, maxBody+1))
		if err == nil && len(data) > maxBody {
			err = fmt.Errorf("%w: more than %d bytes; put it into a file and send its path", mail.ErrTooLarge, maxBody)
		}
		if err != nil {
			hint := ""
			if file != "" {
				hint = ofFile
			}
			return "", unread(err, hint)
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" { // for example, because the command before a pipe has failed
		return "", fmt.Errorf("%w: the body is empty", ErrUsage)
	}
	return text, nil
}

func unread(err error, hint string) error { return WithHint(fmt.Errorf("read body: %w", err), hint) }
