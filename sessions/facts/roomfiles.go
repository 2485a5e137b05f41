package facts

// The files of a session that is in a room; package rooms writes them. The hook script looks at them: RoomPlaces is older than a
// history with something new, RoomOpen exists if the session is open to a room. When the session is gone, nothing needs them.
func RoomPlaces(sid string) string     { return sid + ".rooms" }
func RoomPlacesLock(sid string) string { return sid + ".rooms.lock" }
func RoomOpen(sid string) string       { return sid + ".rooms-open" }
