package facts

// Files of a session that is in a room. Package rooms writes them, and the hook script checks them: RoomPlaces is older than the history of
// a room with something new. RoomOpen exists if the session sees posts of some room also within a turn. Nothing needs them when the session
// is gone.
func RoomPlaces(sid string) string     { return sid + ".rooms" }
func RoomPlacesLock(sid string) string { return sid + ".rooms.lock" }
func RoomOpen(sid string) string       { return sid + ".rooms-open" }
