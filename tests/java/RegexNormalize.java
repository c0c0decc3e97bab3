// Reads regex-normalize.xml files and applies each to the URLs on stdin as Apache Nutch's urlnormalizer-regex does: the
// text of each pattern and substitution out of the DOM, one Matcher.replaceAll after the other, in the order of the file.
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import javax.xml.parsers.DocumentBuilderFactory;
import org.w3c.dom.NodeList;
import org.w3c.dom.Text;

public class RegexNormalize {
  public static void main(String[] files) throws Exception {
    var urls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).lines()
        .collect(Collectors.toList());
    for (String file : files) {
      var root = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(new File(file));
      NodeList patterns = root.getElementsByTagName("pattern");
      NodeList substitutions = root.getElementsByTagName("substitution");
      var compiled = new Pattern[patterns.getLength()];
      for (int i = 0; i < compiled.length; i++) {
        compiled[i] = Pattern.compile(text(patterns, i));
      }
      for (String url : urls) {
        for (int i = 0; i < compiled.length; i++) {
          url = compiled[i].matcher(url).replaceAll(text(substitutions, i));
        }
        System.out.println(url);
      }
    }
  }

  private static String text(NodeList elements, int place) {
    return ((Text) elements.item(place).getFirstChild()).getData();
  }
}
