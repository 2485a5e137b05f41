package lab

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
)

// SeedKimi writes ~/.kimi-code/config.toml: model as the provider, every tool allowed, then the
// given TOML. It also writes the answers to all questions of the first start and of later ones.
func (l *Lab) SeedKimi(model *Model, more string) {
	l.t.Helper()
	l.Write(".kimi-code/config.toml", fmt.Sprintf(`default_model = "lab"
default_permission_mode = "auto"
auto_session_title = false
telemetry = false

[providers.lab]
type = "openai"
base_url = "%s/v1"
api_key = "lab-key"

[models.lab]
provider = "lab"
model = "lab-model"
max_context_size = 200000
capabilities = ["tool_use"]

%s`, model.URL, more))
	l.Write(".kimi-code/tui.toml", "disable_feedback_survey = true\n\n[upgrade]\nauto_install = false\n")
	// 2.1.0 records in this file that the person trusts the folder.
	key := fmt.Sprintf("wd_%s_%.6x", filepath.Base(l.Project), sha256.Sum256([]byte(l.Project)))
	l.Write(".kimi-code/workspace-trust/"+key, mustJSON(map[string]any{"root": l.Project, "trustedAt": 1}))
}

// KimiEnv returns the environment of Kimi Code; its configuration file names the model.
func (l *Lab) KimiEnv() []string {
	return l.Env("KIMI_CODE_NO_AUTO_UPDATE=1", "KIMI_DISABLE_TELEMETRY=1")
}

// KimiPrompt starts `kimi -p` with pipes. It answers one prompt and ends.
func (l *Lab) KimiPrompt(prompt string, args ...string) *Proc {
	l.t.Helper()
	p := l.run(Kimi, l.KimiEnv(), append([]string{"-p", prompt}, args...)...)
	p.CloseInput()
	return p
}

// KimiTUI starts Kimi Code on a terminal and returns when the prompt is there.
func (l *Lab) KimiTUI(args ...string) *Proc {
	l.t.Helper()
	return l.tui(Kimi, l.KimiEnv(), []string{"context: "}, args...)
}
