package inbox

// Log takes what went wrong, or is worth knowing, in a call that did its work all the same: constant words, and facts as names
// and values in turn. A *slog.Logger is one. Package slog itself is large, and c2c logs a sentence at most.
type Log interface {
	Debug(words string, facts ...any)
	Info(words string, facts ...any)
	Warn(words string, facts ...any)
	Error(words string, facts ...any)
}

// NoLog drops everything.
var NoLog Log = noLog{}

type noLog struct{}

func (noLog) Debug(string, ...any) {}
func (noLog) Info(string, ...any)  {}
func (noLog) Warn(string, ...any)  {}
func (noLog) Error(string, ...any) {}
