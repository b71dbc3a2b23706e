"""Starts an OpenHands agent on the session's prompt, with a terminal and an editor, as its documentation shows."""

import os
from pathlib import Path

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.terminal import TerminalTool


def main():
    prompt = Path(os.environ["TAKEOVER_PROMPT_FILE"]).read_text(encoding="utf-8")
    llm = LLM(
        usage_id="agent",
        model=f"openai/{os.environ.get('TAKEOVER_MODEL', 'takeover-model')}",
        base_url=os.environ["LLM_BASE_URL"],
        api_key=os.environ["LLM_API_KEY"],
    )
    agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name)])
    conversation = Conversation(agent=agent, workspace=str(Path.cwd()))
    conversation.send_message(prompt)
    conversation.run()


if __name__ == "__main__":
    main()
