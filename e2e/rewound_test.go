package e2e

import (
	"strings"
	"testing"

	"c2c/e2e/lab"
)

// Esc before the model's first word takes the prompt back into the input, and out of the
// conversation. What a hook brought with it comes with the next prompt. After a word of the model
// the prompt stays, and so does what came with it.
func TestWhatCameWithAPromptThatEscTakesBackComesAgain(t *testing.T) {
	for _, name := range []lab.Client{lab.Claude, lab.Qwen} {
		t.Run(string(name), func(t *testing.T) {
			t.Parallel()
			var l *lab.Lab
			var model *lab.Model
			var p *lab.Proc
			if name == lab.Claude {
				l, model, p = wakeLab(t, nil)
			} else {
				l, model, p = qwenAt(t, nil)
			}
			never := make(chan struct{})
			t.Cleanup(func() { close(never) })
			records := ".qwen/projects/*/chats/*.jsonl"
			if name == lab.Claude {
				records = ".claude/projects/*/*.jsonl"
			}
			idle := func() {
				if name == lab.Claude {
					claudeIdle(l, model)
				} else {
					hooksSayIdle(l, "amber")
				}
			}
			stops := func(prompt string) { // and takes what the client leaves in its input out of it
				p.Send(lab.Esc)
				idle()
				p.Send(strings.Repeat("\b", len(prompt)))
			}
			l.Run(c2c(), "rooms", "create", "review", "--from", "birch")
			l.Run(c2c(), "rooms", "join", "review", "--from", "amber")
			post := func(text string) { l.Run(c2c(), "send", "#review", text, "--from", "birch") }
			// takesBack submits a prompt, and takes it back when the model has it.
			takesBack := func(prompt, brought string) {
				t.Helper()
				model.Script(lab.Say("Too late.").After(never))
				p.Submit(prompt)
				once(t, model.WaitText(prompt), brought)
				stops(prompt)
			}
			answers := func(prompt, says string) *lab.Request {
				model.Script(lab.Say(says))
				p.Submit(prompt)
				p.WaitShown(says)
				idle()
				return model.WaitText(prompt)
			}

			l.Run("sh", "-c", sendAs("birch", "amber", "meanwhile")+" --deferrable")
			post("post-one")
			takesBack("prompt-two", "word-meanwhile")
			takesBack("prompt-three", "word-meanwhile")
			r := answers("prompt-four", "Answered four.")
			if item := once(t, r, "word-meanwhile"); !strings.Contains(item.Text, "shown_before") {
				t.Errorf("it is not marked: %s", item.Text)
			}
			once(t, r, "post-one")
			wantRead(t, l, "id-meanwhile", "read by hook")

			post("post-two")
			takesBack("prompt-five", "post-two")
			once(t, answers("prompt-six", "Answered six."), "post-two")

			l.Run("sh", "-c", sendAs("birch", "amber", "later")+" --deferrable")
			post("post-three")
			model.Script(lab.Say("Half way.").EndsAfter(never))
			p.Submit("prompt-seven")
			p.WaitShown("Half way.")
			stops("prompt-seven")
			l.WaitFile(records, "Half way.") // a client may write that later than it is idle
			r = answers("prompt-eight", "Answered eight.")
			for _, text := range []string{"word-later", "word-meanwhile", "post-one", "post-two", "post-three"} {
				once(t, r, text)
			}
			wantRead(t, l, "id-later", "read by hook")
		})
	}
}
