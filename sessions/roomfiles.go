package sessions

// These functions name the files of a session that is in a room. Package rooms writes the files,
// and the hook script checks whether they exist. RoomOpen exists if the session sees the posts of
// some room during a turn, too. When the session is gone, nothing needs these files.
func RoomPlaces(sid string) string     { return sid + ".rooms" }
func RoomPlacesLock(sid string) string { return sid + ".rooms.lock" }
func RoomOpen(sid string) string       { return sid + ".rooms-open" }
