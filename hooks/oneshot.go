package hooks

// oneShot reads a client's command line. With a stream of prompts it lives on.
func oneShot(argv []string) bool {
	once := false
	for _, arg := range argv {
		switch arg {
		case "-p", "--print":
			once = true
		case "stream-json", "--input-format=stream-json":
			return false
		case "--":
			return once
		}
	}
	return once
}
