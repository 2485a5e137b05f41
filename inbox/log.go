package inbox

// Log takes the warnings of calls that have succeeded nevertheless. The argument words is a
// constant text; facts has names and values in turn. A *slog.Logger is a Log. c2c does not import
// log/slog, because that would link much code for the few lines that c2c logs.
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
