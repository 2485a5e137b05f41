package facts

// The names of the files of a session that is in a room. Package rooms writes these files, and the hook script checks their times:
// RoomPlaces is older than the history of each room with something new. RoomOpen exists if every post of some room wakes the
// session. Nothing needs the files after the session is gone.
func RoomPlaces(sid string) string     { return sid + ".rooms" }
func RoomPlacesLock(sid string) string { return sid + ".rooms.lock" }
func RoomOpen(sid string) string       { return sid + ".rooms-open" }
