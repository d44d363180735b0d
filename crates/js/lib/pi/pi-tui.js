// `@earendil-works/pi-tui` (and `@mariozechner/pi-tui`): pi's terminal UI
// library, for a host without a terminal. Everything measures, wraps and
// renders to lines; nothing is drawn.
export { compositeTuiLine, getOsc8LinkAtColumn, sliceByColumn, truncateToWidth, wrapTextWithAnsi } from "jackfield:pi/tui/ansi";
export { replaceControlCharacters, stripTerminalSequences, visibleWidth } from "jackfield:pi/tui/width";
export { CombinedAutocompleteProvider } from "jackfield:pi/tui/autocomplete";
export { backgroundAnsi, colorToHex, colorToOkhsl, colorToOklch, colorToRgb, foregroundAnsi, indexedColor, mixColors, okhslColor, oklabToOkhslLightness, oklchColor, parseColor, rgbColor, styleText, styleTextWithAnsi } from "jackfield:pi/tui/colors";
export { Box, CURSOR_MARKER, Container, MouseRegion, isFocusable } from "jackfield:pi/tui/container";
export { renderFakeCursor } from "jackfield:pi/tui/editing";
export { Editor } from "jackfield:pi/tui/editor";
export { fuzzyFilter, fuzzyMatch } from "jackfield:pi/tui/fuzzy";
export { Image, allocateImageId, calculateImageRows, deleteAllKittyImages, deleteKittyImage, detectCapabilities, encodeITerm2, encodeKitty, getCapabilities, getCellDimensions, getGifDimensions, getImageDimensions, getJpegDimensions, getPngDimensions, getTerminalColorMode, getWebpDimensions, hyperlink, imageFallback, renderImage, resetCapabilitiesCache, setCapabilities, setCapabilityOverrides, setCellDimensions, setImageTranscoder } from "jackfield:pi/tui/image";
export { Input } from "jackfield:pi/tui/input";
export { KeybindingsManager, TUI_KEYBINDINGS, getKeybindings, setKeybindings } from "jackfield:pi/tui/keybindings";
export { Key, decodeKittyPrintable, isKeyRelease, isKeyRepeat, isKittyProtocolActive, matchesKey, parseKey, setKittyProtocolActive } from "jackfield:pi/tui/keys";
export { renderLatex } from "jackfield:pi/tui/latex";
export { CancellableLoader, Loader } from "jackfield:pi/tui/loader";
export { Markdown } from "jackfield:pi/tui/markdown";
export { Marked } from "jackfield:pi/tui/markdown-blocks";
export { SelectList, getSelectPageIndex } from "jackfield:pi/tui/select-list";
export { SettingsList } from "jackfield:pi/tui/settings-list";
export { HStack, ScrollView, VStack } from "jackfield:pi/tui/stack";
export { StdinBuffer } from "jackfield:pi/tui/stdin-buffer";
export { ProcessTerminal, formatProgramStatus, getNativeClipboard, isAppleTerminalSession, parseTerminalColorSchemeReport } from "jackfield:pi/tui/terminal";
export { Spacer, Text, TruncatedText } from "jackfield:pi/tui/text";
export { TuiAltScreen, TuiMainScreen, isViewportTUI } from "jackfield:pi/tui/tui";
