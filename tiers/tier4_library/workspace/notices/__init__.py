"""Messages to members: by what way, with what words, on what day. It is told what to say, and looks nothing up."""
